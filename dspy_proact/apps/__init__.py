"""An application of one's own as the assistant under test: a function, a module with models of its own, a service."""

from dspy_proact.apps.app import App, AppReply, AppRequest, RecordedApp, steps_in
from dspy_proact.apps.engine import AppEngine, open_app
from dspy_proact.apps.opened import opened_app
