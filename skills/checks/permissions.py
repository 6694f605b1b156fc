"""Check the values of the manifest, and what the file does against what its manifest allows."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from urllib.parse import urlsplit

from skills.checks.source import SkillSource
from skills.checks.step_calls import step_calls
from skills.format.events import engine_function_id, wrong_event, wrong_event_problem, wrong_invoke
from skills.format.manifest import Permissions
from skills.format.problem import Overreach, SkillProblem

_HOST = re.compile(
    r"(?P<name>[A-Za-z0-9]([A-Za-z0-9._-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?"
)
# With such a last label, resolvers read the whole name as a number.
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")
_LONGEST_LABEL, _LAST_PORT = 63, 65535
_MOST_NAMES, _LONGEST_BUDGET = 50, 20
_SECRET = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_INVOKE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}/[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_CHANNEL = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_HTTP = frozenset(f"skills.kit.http.{method}" for method in ("get", "post", "put", "patch", "delete"))

# For each part of the kit: whether a manifest allows it, and the entry to add.
_NEEDS: dict[str, tuple[Callable[[Permissions], bool], str]] = {
    "http": (lambda may: bool(may.hosts), '"hosts": ["metrics.example:9090"]'),
    "llm": (lambda may: float(may.model_budget_per_day) > 0, '"model_budget_per_day": "0.50"'),
    "notify": (lambda may: bool(may.notify), '"notify": ["ops"]'),
    "secrets": (lambda may: bool(may.secrets), '"secrets": {"NAME": "host:port"}'),
    "memory": (lambda may: may.memory == "read", '"memory": "read"'),
    "ask_agent": (lambda may: may.ask_agent, '"ask_agent": True'),
}


def check_permissions(source: SkillSource) -> Iterator[SkillProblem]:
    """Yield wrong values of the manifest, and uses that it does not allow."""
    if source.manifest is None:
        return
    may = source.manifest.permissions
    line = _manifest_line(source)
    if "MANIFEST" not in source.names.once:
        yield SkillProblem(line, "MANIFEST is set more than once, and only the first is read", "leave one of them")
    yield from _check_lengths(may, line)
    yield from _check_values(may, line)
    yield from _check_kit_use(source, may)
    yield from _check_calls(source, may)
    yield from _check_invokes(source, may)


def _check_lengths(may: Permissions, line: int) -> Iterator[SkillProblem]:
    """Yield lists that are too long for a person to read on a card."""
    named = {"hosts": may.hosts, "secrets": list(may.secrets), "invoke": may.invoke, "notify": may.notify}
    for name, values in (*named.items(), *((f"events.{kind}", names) for kind, names in may.events.items())):
        if len(values) > _MOST_NAMES:
            yield SkillProblem(
                line, f"permissions.{name} has more than {_MOST_NAMES} names", "split it into several skills"
            )
    if len(may.model_budget_per_day) > _LONGEST_BUDGET:
        yield SkillProblem(line, "model_budget_per_day is not an amount of money", "write it as 0.50")


def _is_host(text: str) -> bool:
    """Return whether this is a host name or address; numeric forms such as `2130706433` or `0x7f.1` are refused."""
    found = _HOST.fullmatch(text)
    if found is None:
        return False
    name, port = found["name"], found["port"]
    if port is not None and not 1 <= int(port) <= _LAST_PORT:
        return False
    if name.startswith("["):
        return _is_address(name[1:-1])
    labels = name.split(".")
    plain = all(0 < len(label) <= _LONGEST_LABEL for label in labels)
    return plain and (not _NUMBER.fullmatch(labels[-1]) or _is_address(name))


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def _check_values(may: Permissions, line: int) -> Iterator[SkillProblem]:
    for host in (*may.hosts, *may.secrets.values()):
        if not _is_host(host):
            yield SkillProblem(
                line, f"{host!r} is not a valid host", "write a host as metrics.example:9090, without scheme and path"
            )
    for name, host in may.secrets.items():
        if not _SECRET.fullmatch(name):
            yield SkillProblem(line, f"{name!r} is not a valid name of a secret", "write it as METRICS_TOKEN")
        if host not in may.hosts:
            yield SkillProblem(
                line, f"the secret {name} is for {host}, which is not among the hosts", "name the host too"
            )
    yield from _check_events(may, line)
    for name in may.invoke:
        if not _INVOKE.fullmatch(name):
            yield SkillProblem(line, f"{name!r} names no function", "write skill-<stem>/<fn_id>")
        elif (wrong := wrong_invoke(engine_function_id(name))) is not None:
            yield Overreach(line, f"{wrong}: no skill starts it", "use ask_agent to give the agent work")
    for name in may.notify:
        if not _CHANNEL.fullmatch(name):
            yield SkillProblem(line, f"{name!r} is not a valid channel", "write a short word such as ops")


def _check_events(may: Permissions, line: int) -> Iterator[SkillProblem]:
    for kind, names in may.events.items():
        if kind not in ("listen", "send"):
            yield SkillProblem(line, f"permissions.events has no {kind!r}", "it has listen and send")
        for name in names:
            if (wrong := wrong_event(name)) is not None:
                yield wrong_event_problem(line, name, wrong, "use events of your own")


def _check_kit_use(source: SkillSource, may: Permissions) -> Iterator[SkillProblem]:
    """Yield the first use of each part of the kit that the manifest does not allow."""
    told: set[str] = set()
    for node in source.nodes:
        name = _kit_name(source, node)
        if name in _NEEDS and name not in told:
            has, entry = _NEEDS[name]
            if not has(may):
                told.add(name)
                reason = f"the file uses skills.kit.{name}, and its manifest does not allow that"
                yield SkillProblem(getattr(node, "lineno", None), reason, f"add {entry} to permissions")


def _kit_name(source: SkillSource, node: ast.AST) -> str:
    if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
        return ""
    dotted = source.names.dotted(node) or ""
    return dotted.removeprefix("skills.kit.").partition(".")[0] if dotted.startswith("skills.kit.") else ""


def _check_calls(source: SkillSource, may: Permissions) -> Iterator[SkillProblem]:
    for node in source.nodes:
        match node:
            case ast.Call(func=func):
                dotted = source.names.dotted(func)
                if dotted in _HTTP:
                    yield from _check_host(source, node, may)
                elif dotted == "skills.kit.notify":
                    yield from _check_channel(source, node, may)
                elif dotted == "inngest.Event":
                    yield from _check_event_sent(source, node, may)
            case ast.Subscript(value=whole, slice=ast.Constant(value=str(name))):
                if source.names.dotted(whole) == "skills.kit.secrets" and may.secrets and name not in may.secrets:
                    fix = f'add "{name}" with its host to permissions.secrets'
                    yield SkillProblem(node.lineno, f"the manifest names no secret {name}", fix)
            case _:
                continue


def _check_host(source: SkillSource, call: ast.Call, may: Permissions) -> Iterator[SkillProblem]:
    """Yield the problem of a literal address, also of an f-string that is literal up to its path."""
    value = source.names.resolved(call.args[0]) if call.args else None
    match value:
        case ast.Constant(value=str(url)):
            pass
        case ast.JoinedStr(values=[ast.Constant(value=str(url)), *_]) if url.count("/") > 2:
            pass
        case _:
            return
    try:
        named = urlsplit(url).netloc
    except ValueError:
        named = ""
    if may.hosts and named not in may.hosts:
        reason = f"{url!r} is at {named or 'no host'}, which is not among the hosts"
        yield SkillProblem(call.lineno, reason, f"the manifest names {', '.join(may.hosts)}; add the host there")


def _check_channel(source: SkillSource, call: ast.Call, may: Permissions) -> Iterator[SkillProblem]:
    channel = source.names.text(call.args[0]) if call.args else None
    if channel is not None and may.notify and channel not in may.notify:
        yield SkillProblem(call.lineno, f"the manifest names no channel {channel}", "add it to permissions.notify")


def _check_event_sent(source: SkillSource, call: ast.Call, may: Permissions) -> Iterator[SkillProblem]:
    name = source.names.text(next((one.value for one in call.keywords if one.arg == "name"), None))
    if name is None:
        return
    if (wrong := wrong_event(name)) is not None:
        yield wrong_event_problem(
            call.lineno, name, f"{wrong}, and a skill may not send it", "send an event of your own"
        )
    elif name not in may.events.get("send", []):
        fix = f'add it: "events": {{"send": ["{name}"]}} in permissions'
        yield SkillProblem(call.lineno, f"the file sends {name}, which its manifest does not name", fix)


def _check_invokes(source: SkillSource, may: Permissions) -> Iterator[SkillProblem]:
    own = f"skill-{source.stem}"
    for one in step_calls(source, source.nodes):
        if one.method != "invoke_by_id":
            continue
        options = {option.arg: option.value for option in one.call.keywords}
        app = source.names.text(options["app_id"]) if "app_id" in options else own
        function = source.names.text(options.get("function_id"))
        if app is None or function is None:
            yield SkillProblem(
                one.line, "what is invoked is computed", "write app_id and function_id as literal strings"
            )
        elif app != own and f"{app}/{function}" not in may.invoke:
            fix = f'add "{app}/{function}" to permissions.invoke'
            yield SkillProblem(one.line, f"the file invokes {app}/{function}, which its manifest does not name", fix)


def _manifest_line(source: SkillSource) -> int:
    """Return the line of the manifest; the first of the file if there is none."""
    for statement in source.tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="MANIFEST")]) | ast.AnnAssign(target=ast.Name(id="MANIFEST")):
                return statement.lineno
            case _:
                continue
    return 1
