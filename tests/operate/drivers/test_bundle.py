"""Several files travel as one text, and secrets do not travel at all."""

from __future__ import annotations

import base64
import bz2
import codecs
import gzip
import html
import json
import lzma
import quopri
import shlex
import unicodedata
import zlib
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabricc.base.secret_words import HIDDEN
from fabricc.operate.drivers.bundle import candidate_files, pack_bundle, unpack_bundle
from fabricc.operate.drivers.redact import excerpt, mask_secrets, redact_text

if TYPE_CHECKING:
    from pathlib import Path

NAMES = st.from_regex(r"[a-z][a-z0-9._-]{0,12}", fullmatch=True)
LINES = st.lists(
    st.text(st.characters(exclude_characters="\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029")), max_size=5
)


@given(st.dictionaries(NAMES, LINES.map(lambda lines: "".join(f"{line}\n" for line in lines)), min_size=1))
def test_a_bundle_gives_back_the_files(files: dict[str, str]) -> None:
    assert unpack_bundle(pack_bundle(files), "other") == files


def test_a_text_without_marks_is_the_one_file() -> None:
    assert unpack_bundle("hostname läb\n", "frr.conf") == {"frr.conf": "hostname läb\n"}


@pytest.mark.parametrize(
    "text", ["stray\n==> a <==\nx\n", "==> a <==\n1\n==> a <==\n2\n"], ids=["before the first", "twice"]
)
def test_a_malformed_bundle_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"before the first|comes twice"):
        unpack_bundle(text, "frr.conf")


@pytest.mark.parametrize("end", ["\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_a_mark_begins_a_line_of_its_own_alone(end: str) -> None:
    files = {"a": f"one{end}==> b <==\ntwo\n", "c": ""}
    assert unpack_bundle(pack_bundle(files), "x") == files


@pytest.mark.parametrize(
    "files",
    [{"../shadow": ""}, {"a": "==> b <==\n"}, {"a": "==> b <==\r\n"}],
    ids=["path", "mark inside", "mark of another system"],
)
def test_bundle_rejects_files_that_do_not_round_trip(files: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        pack_bundle(files)


def test_a_folder_is_a_candidate(tmp_path: Path) -> None:
    (tmp_path / "frr.conf").write_text("hostname läb\n", "utf-8")
    (tmp_path / "hostname").write_text("läb\n", "utf-8")
    assert candidate_files(str(tmp_path), None, "x") == {"frr.conf": "hostname läb\n", "hostname": "läb\n"}


@pytest.mark.parametrize(
    "line",
    [
        "neighbor 192.0.2.1 password S3CRET",
        "username admin secret sha512 S3CRET",
        "tacacs-server host 192.0.2.9 key 7 S3CRET",
        "snmp-server community S3CRET ro",
        '"auth-password": "S3CRET"',
        "password=S3CRET",
        'encrypted-password "S3CRET";',
        'tacacs-server host 192.0.2.9 key 7 "S3CRET"',
        'radius-server key 7 "two S3CRET"',
        "ntp authentication-key 1 md5 7 S3CRET",
        "<password>S3CRET</password>",
        "secret => S3CRET",
    ],
)
def test_secrets_are_hidden_in_texts_of_devices(line: str) -> None:
    assert "S3CRET" not in redact_text(f"line 7: {line}")
    assert HIDDEN in redact_text(line)


def test_a_known_secret_is_hidden_wherever_it_stands() -> None:
    assert redact_text("login läb:hunter2 refused", "hunter2") == f"login läb:{HIDDEN} refused"


LOGIN, SECRET = "admin", "p<ä&ss>'w/o\"rd %+"
ENCODINGS = ("utf-8", "latin-1", "utf-16-le", "utf-16-be", "utf-16")


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("before", ["", "a", "ab", f"{LOGIN}:"])
def test_a_known_secret_is_hidden_in_every_encoding(encoding: str, before: str) -> None:
    raw = f"{before}{SECRET}".encode(encoding)
    forms = [
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
        base64.encodebytes(raw * 3).decode(),
        base64.b32encode(raw).decode(),
        base64.b32encode(raw).decode().lower(),
        quopri.encodestring(raw, quotetabs=True).decode().replace("=\n", ""),
        str(list(raw)),
        " ".join(map(str, raw)),
        raw.hex(),
        raw.hex(":").upper(),
        raw.decode("latin-1"),
        repr(raw),
        quote(raw, safe=""),
        quote_plus(raw),
        quote(quote(raw)),
    ]
    if encoding == "utf-8":
        text = raw.decode()
        forms += [text, json.dumps(text), json.dumps(json.dumps(text)), html.escape(text), shlex.quote(text)]
        forms += [
            text.encode("ascii", "xmlcharrefreplace").decode(),
            text.encode("ascii", "replace").decode(),
        ]
        forms += [
            unicodedata.normalize("NFD", text),
            html.escape(html.escape(text, quote=False), quote=False),
        ]
    for form in forms:
        assert HIDDEN in mask_secrets(f"said: {form} (end)", SECRET), form
        assert mask_secrets(f"said: {form} (end)", SECRET).endswith(" (end)")


PASSPHRASE = "Correct-Horse7"
_BASIC = base64.b64encode(f"admin:{PASSPHRASE}".encode()).decode()


@pytest.mark.parametrize(
    "form",
    [
        *(f"Correct{mark}-Horse7" for mark in ("\n", "\r\n", " \r", "\n        ", "\\\n", "=\n", "\x1b[0m", "\\n")),
        *(mark.join(PASSPHRASE) for mark in ("\n", " ", "\u200b", "^", "\x16")),
        json.dumps(list(PASSPHRASE)), "'Correct' + '-Horse7'", "Correct]]><![CDATA[-Horse7", PASSPHRASE.upper(),
        "".join(f"&#{ord(one)}" for one in PASSPHRASE), "".join(f"&#x{ord(one):x}" for one in PASSPHRASE),
        "".join(f"%u{ord(one):04x}" for one in PASSPHRASE), ", ".join(f"0x{one:02x}" for one in PASSPHRASE.encode()),
        base64.b64encode(_BASIC.encode()).decode(), _BASIC.encode().hex(), "".join(f"&#{ord(one)};" for one in _BASIC),
        "".join(f"%{ord(one):02X}" for one in _BASIC),
        base64.b64encode(quote(f"a b:{PASSPHRASE}&").encode()).decode(),
    ],
)  # fmt: skip
def test_a_known_secret_is_hidden_in_pieces_and_in_encodings_of_encodings(form: str) -> None:
    left = mask_secrets(f"said {form} end", f"admin:{PASSPHRASE}", PASSPHRASE)
    assert HIDDEN in left
    assert left.replace(HIDDEN, "").strip("said en[]'\"0x") == ""


@pytest.mark.parametrize("before", ["", "x"])
def test_a_known_secret_is_hidden_as_tools_print_bytes(before: str) -> None:
    raw = f"{before}{PASSPHRASE}".encode()
    padded = raw + bytes(len(raw) % 2)
    forms = [
        f"{len(raw)}." + ".".join(map(str, raw)),  # an index of SNMP
        " ".join(f"{byte:3}" for byte in raw),  # od -tu1
        "".join(f" {byte:03o}" for byte in raw[:8])
        + "\n0000010"
        + "".join(f" {byte:03o}" for byte in raw[8:]),
        "   ".join(map(chr, raw[:8])) + "\n0000010   " + "   ".join(map(chr, raw[8:])),  # od -c
        " ".join(f"{padded[at + 1]:02x}{padded[at]:02x}" for at in range(0, len(raw), 2)),  # hexdump
        json.dumps(base64.b64encode(gzip.compress(raw * 3)).decode()).replace("/", "\\/"),
    ]
    for form in forms:
        left = mask_secrets(f"from {form} end", PASSPHRASE)
        assert HIDDEN in left, form
        assert len(left) < len("from  end") + 2 * len(HIDDEN) + 12, left
    numbers = "1.3.6.1.2.1.15.3.1.2 120 097 102 deadbeef 0000010"
    assert mask_secrets(numbers, PASSPHRASE) == numbers


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "admin:"])
@pytest.mark.parametrize("secret", [PASSPHRASE, SECRET])
def test_a_known_secret_is_hidden_compressed_backwards_in_base85_and_in_a_dump(
    secret: str, before: str
) -> None:
    text = f"{before}{secret}"
    raw = text.encode()
    lines = [raw[at : at + 16] for at in range(0, len(raw), 16)]
    forms = [base64.b85encode(raw), base64.a85encode(raw), base64.a85encode(raw, adobe=True)]
    forms += [base64.b64encode(pack(raw)) for pack in (gzip.compress, zlib.compress)]
    forms += [b"data/" + base64.urlsafe_b64encode(gzip.compress(raw)), gzip.compress(raw).hex().encode()]
    forms += [
        b"\n".join(
            b"%08x:  %s  |%s|" % (16 * at, line.hex(" ", size).encode(), line)
            for at, line in enumerate(lines)
        )
        for size in (1, 2)
    ]
    for form in (*forms, text[::-1].encode()):
        left = mask_secrets(f"said: {form.decode()} (end)", secret)
        assert HIDDEN in left, form
        for size in (-7, 7):
            assert secret[:size] not in left, form
    beginning = mask_secrets(base64.b85encode(raw).decode(), secret).partition(HIDDEN)[0]
    shown = base64.b85decode(f"{beginning}~~~~"[: len(beginning) // 5 * 5]).decode()
    assert before.startswith(shown)
    assert mask_secrets(f"said: {text[:6][::-1]} (end)", secret).endswith(" (end)")


UU = "`" + "".join(map(chr, range(33, 96)))
XX = "+-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
HEX32, CROCKFORD = "0123456789ABCDEFGHIJKLMNOPQRSTUV", "0123456789abcdefghjkmnpqrstvwxyz"


BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def count_in(raw: bytes, alphabet: str) -> str:
    """Return bytes as a number with these digits."""
    number, digits = int.from_bytes(raw, "big"), ""
    while number:
        number, digit = divmod(number, len(alphabet))
        digits = alphabet[digit] + digits
    return digits


def in_base45(raw: bytes) -> str:
    """Return bytes in Base45 (RFC 9285)."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:"
    pairs = [int.from_bytes(raw[at : at + 2], "big") for at in range(0, len(raw), 2)]
    return "".join(digits[n % 45] + digits[n // 45 % 45] + digits[n // 2025] for n in pairs)


def pack_bits(raw: bytes, alphabet: str) -> str:
    """Return bytes in an alphabet whose symbols stand for equally many bits."""
    size = len(alphabet).bit_length() - 1
    bits = "".join(f"{byte:08b}" for byte in raw)
    bits += "0" * (-len(bits) % size)
    return "".join(alphabet[int(bits[at : at + size], 2)] for at in range(0, len(bits), size))


@pytest.mark.parametrize("before", ["", "a", "ab", "abc", "abcd", "admin:"])
@pytest.mark.parametrize("secret", [PASSPHRASE, "Kj8#mQ2!vXé 9"])
def test_a_known_secret_is_hidden_in_every_alphabet_and_compression(secret: str, before: str) -> None:
    raw = f"{before}{secret}".encode()
    forms = [pack_bits(raw, alphabet) for alphabet in (UU, XX, HEX32, CROCKFORD, "01")]
    forms += [" ".join(f"{byte:08b}" for byte in raw), pack_bits(raw, HEX32).lower(), in_base45(raw)]
    forms += [count_in(raw, alphabet) for alphabet in (BASE58, BASE62, BASE62[:36], BASE62[:10])]
    forms += [count_in(raw, BASE58[:9] + BASE58[33:] + BASE58[9:33])]
    deflate = zlib.compressobj(wbits=-15)
    compressed = [
        bz2.compress(raw),
        lzma.compress(raw),
        deflate.compress(raw) + deflate.flush(),
        gzip.compress(raw),
    ]
    forms += [base64.b64encode(one).decode() for one in compressed]
    forms += [
        base64.b32encode(one).decode() for one in (*compressed, base64.b64encode(raw), raw.hex().encode())
    ]
    forms += [one.hex() for one in compressed[:1]]
    text = f"{before}{secret}"
    wide = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text)
    forms += [codecs.encode(text, "rot13"), wide, secret.encode("utf-7").decode()]
    for form in forms:
        left = mask_secrets(f"said: {form} (end)", secret)
        assert HIDDEN in left, form
        rest = len(left.replace(HIDDEN, "")) - len("said:  (end)")
        assert rest <= len(form) / len(raw) * (len(before.encode()) + 3), (form, left)
    assert mask_secrets("route 0110 1010 via et-0/0/1, IMAGE 4.33.1F", secret).endswith("4.33.1F")


def test_compressed_text_is_read_up_to_a_limit() -> None:
    """Compressed output of a device must not fill the memory; text that is not compressed stays as it is."""
    bomb = base64.b64encode(zlib.compress(bytes(1 << 22))).decode()
    for text in (bomb[:8000], "H4sIAAAA" * 9, "eJzLSy3JLyi2", f"x{'78da' * 9}"):
        assert mask_secrets(f"said {text} end", PASSPHRASE) == f"said {text} end"


def test_half_a_secret_is_hidden_where_a_message_is_cut_off() -> None:
    assert excerpt("password of admin, Correct-Hor", PASSPHRASE) == f"password of admin, {HIDDEN}"
    assert excerpt("rect-Horse7 was refused", PASSPHRASE) == f"{HIDDEN} was refused"
    assert mask_secrets("spine01a", "spine01admin") == "spine01a", "names that are compared stay"
    assert mask_secrets("a b", "ab") == "a b"


def test_a_login_of_http_is_hidden_also_when_it_is_cut_off() -> None:
    word = base64.b64encode(b"somebody:else's password").decode()
    for text in (f"Authorization: Basic {word}", f"'basic {word[:20]}'"):
        assert word[:12] not in mask_secrets(text)
    assert mask_secrets("Basic configuration of an interface") == "Basic configuration of an interface"


def test_secrets_are_hidden_before_text_is_cut() -> None:
    text = "x" * 250 + SECRET
    assert "p<" not in excerpt(text, SECRET, longest=255)
    assert "rd %+" not in excerpt(SECRET + "x" * 250, SECRET, longest=255, end=True)


def test_a_long_text_is_searched_in_time_that_grows_with_it() -> None:
    for text in (
        "QWxh" * 100_000,
        "C" + "\\" * 100_000,
        "p" + "\n" * 100_000,
        "&amp;" * 10_000,
        "%25" * 10_000,
        "43 6f " * 50_000,
        "\n00000000: 436f" * 30_000,
    ):
        assert mask_secrets(text, SECRET) == text
