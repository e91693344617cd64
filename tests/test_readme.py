"""What the README tells people to type, typed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mcphost.demo.config import config as demo_config

from .endpoint import Answer, Endpoint, Received, raw, text

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
LINES = [line for block in BLOCKS for line in block.splitlines() if line and not line.startswith("#")]
RUN = [line for line in LINES if "mcphost " in line or line.startswith("python examples")]


def answer(request: Received) -> Answer:
    """A short answer, streamed or whole as the request asks."""
    if request.body.get("stream"):
        return text("苏州明天多云。")
    message = {"role": "assistant", "content": "苏州明天多云。"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    whole = {"id": "1", "object": "chat.completion", "created": 1, "model": "scripted", "choices": [choice]}
    return raw(json.dumps(whole).encode(), content_type="application/json")


def test_its_make_targets_are_there():
    targets = set(re.findall(r"\bmake ([a-z]+)", README))
    assert {"demo", "test", "check", "interop"} <= targets
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert not {target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)}


def test_the_two_commands_of_a_fresh_machine_come_first():
    assert [line.split("#")[0].strip() for line in LINES[:2]] == ["make demo", "make test"]


@pytest.mark.parametrize("line", RUN)
def test_its_commands_run(line: str, tmp_path: Path):
    (tmp_path / "servers.json").write_text(json.dumps(demo_config("http://127.0.0.1:9/v1")), encoding="utf-8")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    with Endpoint(*[answer] * 3) as endpoint:
        environ = {
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "DEEPSEEK_API_KEY": "sk-test",
            "OPENAI_API_KEY": "sk-test",
            "OPENAI_BASE_URL": endpoint.url,
            "MODEL": "scripted",
            "MCPHOST_MODEL": "deepseek/deepseek-chat",
            "MCPHOST_CONFIG": "servers.json",
        }
        run = subprocess.run(
            ["bash", "-eo", "pipefail", "-c", line],
            cwd=tmp_path,
            env=environ,
            capture_output=True,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )
    assert run.returncode == 0, run.stderr
    assert run.stdout or run.stderr or "chat" in line
    assert "Traceback" not in run.stderr


def test_its_servers_json_is_taken_without_a_warning(tmp_path: Path):
    block = re.search(r"^```json\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    path = tmp_path / "servers.json"
    path.write_text(block[1], encoding="utf-8")
    environ = {**os.environ, "AMAP_MAPS_API_KEY": "none", "TOKEN": "none"}
    program = "import sys; from pathlib import Path; from mcphost.config import load; import os\n"
    program += "config = load([Path(sys.argv[1])], environ=os.environ)\n"
    program += "assert not config.warnings, config.warnings\n"
    program += "assert not [s.problem for s in config.servers.values() if s.problem]\n"
    subprocess.run([sys.executable, "-c", program, str(path)], env=environ, check=True, timeout=30)
