"""Requests sent from the machines of a Ray cluster, in place of the driver's own clients.

who sends                               worker
the workers of a cluster                cluster
which of them gets a request            ray_engine

The engine sits behind the gate, as a provider's client does: cases, retries, limits, the log of calls and grading are
in the driver, and nothing above knows of Ray. A worker has no state but connections: what makes them travels with each
request, so that one which was restarted needs no set-up.
"""
