"""Real clusters of Ray, whose nodes are processes of this machine with addresses of their own."""

import subprocess
import sys
import threading
from collections import Counter

import pytest
from drivers.script import ROOT
from fakes.server import Server, healthy

from dspy_proact import Evaluation, Gate, ModelSpec, RunFolder, Scope
from dspy_proact.errors import ProviderDown, SetupFault
from dspy_proact.models.ray import cluster as ray_cluster
from dspy_proact.models.ray import ray_engine

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.usefixtures("proactbench"),
    pytest.mark.filterwarnings("default"),  # of Ray
    pytest.mark.timeout(900),
]
ray = pytest.importorskip("ray", reason="needs the extra `ray`")


@pytest.fixture
def nodes():
    """A cluster of a head without CPUs, to which this process is connected."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    yield cluster
    ray.shutdown()
    cluster.shutdown()


@pytest.fixture
def server():
    with Server(host="0.0.0.0") as running:
        yield running


def at(server, gate, host="{node}"):
    bases = (base.replace("127.0.0.1", host) for base in (server.assistant, server.judge))
    return Evaluation("sample", *(ModelSpec(name="hosted_vllm/any", api_base=base) for base in bases), gate=gate)


def grades(folder):
    return {event.key: event.grade for event in RunFolder(folder).events() if event.grade}


def hosts(server):
    return Counter(sent.headers["Host"].partition(":")[0] for sent in server.sent)


def test_each_node_asks_its_own_server_and_one_that_leaves_or_joins_changes_no_grade(
    nodes, server, tmp_path, monkeypatch
):
    """Of two nodes one leaves after 30 requests; a third joins before the next run, and at last all leave."""
    leaving = nodes.add_node(num_cpus=1, node_ip_address="127.0.0.2")
    others = [nodes.add_node(num_cpus=1, node_ip_address="127.0.0.3")]
    at(server, Gate(), "127.0.0.1").run(tmp_path / "plain")
    server.sent.clear()

    def script(sent):
        if len(server.sent) == 30:
            threading.Thread(target=nodes.remove_node, args=(leaving,)).start()
        return healthy(sent)

    server.script, gate = script, Gate(engine="ray", concurrency=8, backoff=0.1)
    at(server, gate).run(tmp_path / "nodes")
    assert grades(tmp_path / "nodes") == grades(tmp_path / "plain")
    assert len(grades(tmp_path / "nodes")) == 49
    assert hosts(server).keys() == {"127.0.0.2", "127.0.0.3"}
    assert 98 <= len(server.sent) <= 98 + 8  # what was in flight on the node that left is sent again

    server.script = healthy
    monkeypatch.setattr(ray_cluster, "_LOOK", 0.0)
    others.append(nodes.add_node(num_cpus=2, node_ip_address="127.0.0.4"))
    for number in range(100):
        server.sent.clear()
        at(server, gate).run(tmp_path / f"joined {number}", Scope(limit=5))
        if "127.0.0.4" in hosts(server):
            break
    assert hosts(server).keys() == {"127.0.0.3", "127.0.0.4"}

    monkeypatch.setattr(ray_engine, "_AWAY", 2.0)
    for node in others:
        nodes.remove_node(node)
    with pytest.raises(ProviderDown, match="no worker has been there for 2 seconds"):
        at(server, gate).run(tmp_path / "none", Scope(limit=1))


def test_a_cluster_is_the_same_by_another_name_of_this_machine(nodes, server, tmp_path):
    host, _, port = nodes.address.rpartition(":")
    nodes.add_node(num_cpus=1)
    for name in (host, "localhost"):
        at(server, Gate(engine=f"ray={name}:{port}"), "127.0.0.1").run(tmp_path / name, Scope(limit=1))
    with pytest.raises(SetupFault, match="connected to another cluster"):
        at(server, Gate(engine=f"ray=127.0.0.1:{server.port}"), "127.0.0.1").run(tmp_path / "other", Scope(limit=1))


def test_a_cluster_without_cpus_ends_a_run(nodes, server, tmp_path):
    with pytest.raises(SetupFault, match="no node of the cluster has a CPU"):
        at(server, Gate(engine="ray")).run(tmp_path / "run")
    assert server.sent == []


def test_the_soak_finds_nothing(tmp_path):
    command = [sys.executable, ROOT / "eval" / "ray_soak.py", "--quick"]
    done = subprocess.run(command, check=False, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
