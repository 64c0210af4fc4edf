"""A sandboxed helper process for native and untrusted work: renderers, decoders, scripts of strangers.

    with Guard("trivium.data.svg.render:render", Limits(wall_seconds=5)) as guard:
        picture = guard.call(request, Picture)     # GuardError when the child refused, hung, died or said too much

The task is a plain function of one argument; both ends speak msgpack of its annotated types, never pickle.
"""

from trivium.data.guard.engine import Profile
from trivium.data.guard.guard import Guard
from trivium.data.guard.limits import Limits
from trivium.data.guard.pool import Pool
from trivium.data.guard.program import Outcome, run
from trivium.data.guard.sandbox import Sandbox, sandbox
from trivium.data.guard.service import Service

__all__ = ["Guard", "Limits", "Outcome", "Pool", "Profile", "Sandbox", "Service", "run", "sandbox"]
