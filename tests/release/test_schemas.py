"""Schemas by their addresses: one for each, resolved by it, and found by the names of files as editors find them."""

from __future__ import annotations

import functools
import http.server
import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from fabricc.base.installation import data_folder

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SCHEMAS = {
    path.name.partition(".")[0]: json.loads(path.read_text())
    for path in sorted(data_folder("schemas").glob("*.schema.json"))
}
CATALOG = json.loads((data_folder("schemas") / "schemastore/catalog.json").read_text())
ADDRESS = CATALOG["schemas"][0]["url"].rpartition("cluster.json")[0]
SERVER = Path(sys.prefix) / "editor/node_modules/.bin/yaml-language-server"


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_address_of_a_schema_is_of_its_name(name: str) -> None:
    assert SCHEMAS[name]["$id"] == f"{ADDRESS}{name}.json"
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("cluster", "inventories/superpod-b200-4su/cluster.yaml"),
        ("policy", "fabricc/cli/starter/policy.yaml"),
        ("catalog", "fabricc/catalog/models/nics/bluefield-2.yaml"),
    ],
)
def test_a_file_is_validated_by_the_address_alone(name: str, file: str) -> None:
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in SCHEMAS.values()
    )
    check = Draft202012Validator({"$ref": f"{ADDRESS}{name}.json"}, registry=registry)
    assert not list(check.iter_errors(yaml.safe_load((ROOT / file).read_text())))
    assert list(check.iter_errors({"nothing": "of the kind"}))


def test_the_catalog_can_be_submitted() -> None:
    for entry in CATALOG["schemas"]:
        assert entry["url"] in {schema["$id"] for schema in SCHEMAS.values()}
        assert entry.keys() == {"name", "description", "fileMatch", "url"}
        assert all("fabricc" in pattern for pattern in entry["fileMatch"]), "no name that others use"
        assert not entry["description"].endswith(".")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[str]:
    """A server that has catalog and schemas, as the store has them; the catalog's address."""
    (served := tmp_path / "served").mkdir()
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(served))
    )
    here = f"http://127.0.0.1:{server.server_port}/fabricc-"
    for name, schema in SCHEMAS.items():
        (served / f"fabricc-{name}.json").write_text(json.dumps({**schema, "$id": f"{here}{name}.json"}))
    (served / "catalog.json").write_text(json.dumps(CATALOG).replace(ADDRESS, here))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield here.replace("fabricc-", "catalog.json")
    server.shutdown()
    server.server_close()


class Editor:
    """A client of the language server, as an editor is one."""

    def __init__(self, catalog: str) -> None:
        program = str(SERVER) if SERVER.exists() else shutil.which("yaml-language-server")
        if program is None:
            pytest.skip("yaml-language-server is not installed: `make peers` asks npm for it")
        self.settings = {"yaml": {"schemaStore": {"enable": True, "url": catalog}, "validate": True}}
        self.server = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        workspace = {"configuration": True, "didChangeConfiguration": {"dynamicRegistration": False}}
        self.tell(
            "initialize", {"processId": None, "rootUri": None, "capabilities": {"workspace": workspace}}, 1
        )
        self.hear(lambda output: output.get("id") == 1)
        self.tell("initialized", {})
        self.tell("workspace/didChangeConfiguration", {"settings": self.settings})

    def tell(self, method: str, parameters: dict[str, Any], number: int | None = None) -> None:
        self.send({"method": method, "params": parameters} | ({} if number is None else {"id": number}))

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.server.stdin is not None
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.server.stdin.flush()

    def hear(self, wanted: Any) -> dict[str, Any]:
        """Return the first expected message; requests of the server are answered."""
        assert self.server.stdout is not None
        for _ in range(100):
            length = 0
            while line := self.server.stdout.readline().strip():
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            output: dict[str, Any] = json.loads(self.server.stdout.read(length))
            if wanted(output):
                return output
            if "id" in output and "method" in output:
                requested = output.get("params", {}).get("items", [])
                self.send(
                    {"id": output["id"], "result": [self.settings.get(one["section"]) for one in requested]}
                )
        raise AssertionError("never heard")

    def findings(self, file: str, text: str) -> list[str]:
        """Return what the editor underlines in a file."""
        uri = f"file:///fabric/{file}"
        document = {"uri": uri, "languageId": "yaml", "version": 1, "text": text}
        self.tell("textDocument/didOpen", {"textDocument": document})
        found = self.hear(
            lambda output: (
                output.get("method") == "textDocument/publishDiagnostics" and output["params"]["uri"] == uri
            )
        )
        return [one["message"] for one in found["params"]["diagnostics"]]

    def close(self) -> None:
        self.server.kill()
        self.server.communicate()


@pytest.mark.slow
def test_an_editor_knows_files_by_their_names(store: str) -> None:
    spec = (
        (ROOT / "fabricc/cli/starter/cluster.yaml").read_text().partition("\n")[2]
    )  # without its own first line
    editor = Editor(store)
    try:
        for name in ("fabricc.yaml", "zone-a.fabricc.yaml", "fabricc/cluster.yaml"):
            assert editor.findings(name, spec) == []
            (wrong,) = editor.findings(f"wrong/{name}", f"{spec}\nspine: {{}}\n")
            assert "spine" in wrong
        assert editor.findings("fabricc-policy.yaml", "nothing: 1\n")
        assert editor.findings("cluster.yaml", "nothing: 1\n") == []  # others have files of that name
    finally:
        editor.close()
