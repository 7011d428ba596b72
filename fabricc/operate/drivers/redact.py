"""Keep secrets out of the texts that a device sends: as they are, and in every form in which devices echo them."""

from __future__ import annotations

import binascii
import bz2
import codecs
import html
import lzma
import math
import re
import unicodedata
import zlib
from base64 import a85encode, b32decode, b64decode, b64encode, b85encode
from contextlib import suppress
from functools import lru_cache
from html.entities import html5
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote_plus

from fabricc.base.secret_words import HIDDEN, hide_secret_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


class Decompressor(Protocol):
    """A reader of compressed text."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return the text, up to this many bytes."""


_AFTER_WORD = re.compile(
    r"(?i)\b(passwords?|passphrase|passkey|passwd|secret|community|authentication-key|encrypted-password|auth-key|key|md5)"
    r"(\"?(?:\s+(?:[:=]>?\s*)?|[:=]>?\s*|>)\"?)"
    r"((?:(?:\d{1,2}|sha\d{0,3}|md5|aes|encrypted)\s+){1,3}\"?)?((?<=\")[^\"\n]+|[^\s\",;<]+)"
)
_PLAIN = {"chain", "string", "id", "is", "was", "not", "for", "of"}
_BASIC = re.compile(r"(?i)\b(basic(?:\s|%20|\+)+)([A-Za-z0-9+/_=-]{4,}(?:%3D){0,2})")
_BYTEWISE = ("utf-8", "latin-1")
_ENCODINGS = (*_BYTEWISE, "utf-16-le", "utf-16-be")
_LEAST_BYTES = 4
"""Bytes of a secret from which its hexadecimal form is looked for: shorter ones would be found in any number."""
_LEAST_CHARACTERS = 4
"""Characters of Base64 that must be certain."""
_ALPHABET = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=")
_READ = 1 << 16
"""Characters of a text that may come into a message."""
_GAP = r"(?:\s|\\{1,8}[rn])*"
"""Between two characters of Base64 that was wrapped, or printed as a string."""
_NUL = r"\x00|\\{1,8}x00|\\{1,8}u0000|\\{1,8}0{1,3}|%(?:25)*00|=00|&#0+;"
"""Between two characters of a text in UTF-16 that was read as another encoding."""
_BREAK = (
    r"[=\\]?[ \t]{0,40}[\r\n]{1,3}[ \t]{0,40}|\\{1,8}[rn]|\s"  # a line that was wrapped, with a mark of it or without
    r"|\x1b\[[0-9;?]{0,20}[A-Za-z]|[\x08\x16^\u00ad\u200b-\u200f\u2060\ufeff]"  # colors, and what is not shown
    r"|\]\]><!\[CDATA\[|[\"']\s?[,+.]?\s?[\"']"  # strings in pieces
    r"| {3}|\n[0-7]{7} {3}"  # `od -c`
)
_BETWEEN = rf"(?:{_NUL}|{_BREAK}){{0,2}}"
"""Between two characters of a secret that is no short word."""
_BETWEEN_NUMBERS = r"(?:[\s,;.:]{1,4}|\s{1,3}[0-7]{7}\s{1,3})"
"""Between decimal or octal bytes: also those of an SNMP index, and of `od` with the offset of its next line."""
_BETWEEN_BYTES = (
    r"(?:(?:0x|\\{1,8}x|[\s:,.\-]){0,4}"
    r"|[^\n]{0,60}\n[ \t]{0,8}(?:0x)?[0-9a-fA-F]{4,16}:?[ \t]{1,4})"  # the next line of a dump, with its offset
)
_DUMP = r"(?:[0-9a-fA-F \t]{0,48}[ \t]{2}[^\n]{0,40})?"
"""The rest of a line of a dump: it ends with the bytes as text."""
_WORDY = 8
"""Characters of a secret from which its case does not count, and it is also found in pieces and by a half."""
_LAYERS = 3
"""Encodings, one in another, that are looked through."""
_WRAPPED = re.compile(r"[^\s\"'<>]{11,8192}")
_UNICODE = re.compile(r"%(?:25)*u([0-9a-fA-F]{4})")
_PAIRS = re.compile(r"(?:[0-9a-fA-F]{2}){6,}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{11,}")
_BASE32 = re.compile(r"[A-Z2-7]{13,}|[a-z2-7]{13,}")
_NUMBER = re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]{11,256}(?![A-Za-z0-9])")
_GZIP = "H4sI"
"""Beginning of what was compressed by gzip, in Base64."""
_LETTERS, _DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"


def _symbols(alphabet: str, *, fold: bool = False) -> tuple[str, ...]:
    """Return the pattern of each symbol of an alphabet; `fold`: in capitals and small letters."""
    return tuple(f"[{one}{one.lower()}]" if fold and one.isalpha() else re.escape(one) for one in alphabet)


_PLUS, _SLASH = r"(?:\+|-|%2[bB]|\\{1,8}u002[bB])", r"(?:\\{0,8}/|_|%2[fF]|\\{1,8}u002[fF])"
_PACKED = (
    (*_symbols(_LETTERS + _LETTERS.lower() + _DIGITS), _PLUS, _SLASH),  # Base64, also that of URLs
    _symbols(_LETTERS + "234567", fold=True),  # Base32
)
"""Alphabets whose symbols stand for equally many bits each, the first bits of a text first."""
_RARELY_PACKED = (
    _symbols(_DIGITS + _LETTERS[:22], fold=True),  # Base32hex (RFC 4648)
    _symbols(_DIGITS + "ABCDEFGHJKMNPQRSTVWXYZ", fold=True),  # Base32 by Crockford
    ("[ `]", *_symbols("".join(map(chr, range(33, 96))))),  # uuencode (POSIX)
    _symbols("+-" + _DIGITS + _LETTERS + _LETTERS.lower()),  # xxencode
    ("0", "1"),
)
"""More of them, for secrets that are no short words."""
_BASE58 = _DIGITS[1:] + "ABCDEFGHJKLMNPQRSTUVWXYZ" + "abcdefghijkmnopqrstuvwxyz"
_POSITIONAL = tuple(
    ({one: value for value, one in enumerate(alphabet)}, math.log2(len(alphabet)))
    for alphabet in (
        _DIGITS, _DIGITS + _LETTERS, _DIGITS + _LETTERS.lower(), _BASE58,
        _DIGITS[1:] + _BASE58[33:] + _BASE58[9:33],  # by Flickr
        "rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz",  # by Ripple
        _DIGITS + _LETTERS + _LETTERS.lower(), _DIGITS + _LETTERS.lower() + _LETTERS,
    )
)  # fmt: skip
"""Digits of numbers with their values, and the bits of a digit: no digit stands for bits of its own."""
_BASE45 = _DIGITS + _LETTERS + " $%*+-./:"
_Z85 = bytes.maketrans(
    b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~",
    b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#",
)
"""Characters of Base85 by RFC 1924 and those of ZeroMQ."""
_DECOMPRESSORS: tuple[tuple[bytes, Callable[[], Decompressor]], ...] = (
    (b"\x1f\x8b", lambda: zlib.decompressobj(wbits=31)),
    (b"x", zlib.decompressobj),
    (b"BZh", bz2.BZ2Decompressor),
    (b"\xfd7zXZ", lzma.LZMADecompressor),
    (b"", lambda: zlib.decompressobj(wbits=-15)),  # without a header: most texts break off at once
)
"""First bytes of a compressed text -> what reads it."""
_GROUP = 5
"""Characters of Base85 that stand for four bytes."""
_BASE85: tuple[Callable[[bytes], bytes], ...] = (
    a85encode,
    b85encode,
    lambda content: b85encode(content).translate(_Z85),
)


def redact_text(text: str, *known: str) -> str:
    """Return a text without what follows a word such as `password`, and without known secrets.

    `known` are secrets that the caller holds; empty ones are ignored.
    """
    masked = _mask_ends(mask_secrets(text, *known), known)
    return hide_secret_words(_AFTER_WORD.sub(_hide_word, masked))


def mask_secrets(text: str, *known: str) -> str:
    """Return a text without known secrets, and without the credentials of HTTP's Basic authentication.

    A secret is found as it is; escaped for URLs, JSON, XML, HTML, mail (quoted-printable) or a shell; in hexadecimal,
    in the words of `hexdump` and `od`, and as decimal or octal bytes, such as in an SNMP index; in UTF-8, Latin-1 and
    UTF-16, also when one was read as another; and in Base64 and Base32 at any alignment, such as in `Basic` of
    `user:password` (RFC 7617). It may be split over lines. One of 8 characters or more is also found in Base85 and
    backwards, in rot13, UTF-7 and full-width letters, and in every alphabet of `_PACKED`. Encodings in one another, and
    what gzip, zlib, deflate, bzip2 or xz compressed, are looked through in texts that may come into messages.

    A word of up to 256 characters is also read as a number of base 10, 36, 58 or 62. Not found is Base91. What a system
    encrypts (types 6, 7 and 8, `$9$`) is found by its form and the words around it.
    """
    secrets = sorted(filter(None, known), key=len, reverse=True)
    text = _mask_forms(text, secrets)
    if len(text) <= _READ:
        long = [secret for secret in secrets if len(secret) >= _LEAST_CHARACTERS]
        text = _WRAPPED.sub(lambda word: HIDDEN if _wraps_secret(word[0], long, _LAYERS) else word[0], text)
    return _BASIC.sub(_hide_login, text)


def _mask_forms(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        plain, encoded, grouped = _secret_patterns(secret)
        text = plain.sub(HIDDEN, text)
        text = _without_words(text, encoded) if encoded else text
        text = _without_groups(text, grouped) if grouped else text
    return text


def _wraps_secret(word: str, secrets: Sequence[str], layers: int) -> bool:
    """Return whether a word is an encoding of a text that has a secret in some form."""
    if any(_counts_secret(digits, secret) for digits in _NUMBER.findall(word) for secret in secrets):
        return True
    for inner in _decoded_forms(word):
        if _mask_forms(inner, secrets) != inner or (layers > 1 and _wraps_secret(inner, secrets, layers - 1)):
            return True
    return False


def _counts_secret(word: str, secret: str) -> bool:
    """Return whether the digits of a word, in some base, are a number whose bytes have a secret in them."""
    content = secret.encode("utf-8", "surrogatepass")
    if len(content) < _WORDY:
        return False
    for values, bits in _POSITIONAL:
        if len(word) * bits < 8 * len(content) - 8 or not values.keys() >= set(word):
            continue
        number = 0
        for one in word:
            number = number * len(values) + values[one]
        if content in number.to_bytes((number.bit_length() + 7) // 8, "big"):
            return True
    return False


def _decoded_forms(word: str) -> Iterator[str]:
    """Yield what a word means if it is escaped for HTML or URLs, or has Base64 or hexadecimal digits in it."""
    if "&" in word and (plain := html.unescape(word)) != word:
        yield plain
    if (
        "%" in word
        and (plain := unquote_plus(_UNICODE.sub(lambda code: chr(int(code[1], 16)), word))) != word
    ):
        yield plain
    for digits in _PAIRS.findall(word):
        yield from _read_bytes(bytes.fromhex(digits))
    for encoded in _BASE64.findall(word.replace("\\/", "/")):  # as JSON may escape it
        plain_word = encoded.replace("-", "+").replace("_", "/")
        plain_word = plain_word[max(0, plain_word.find(_GZIP)) :]
        whole = plain_word[: len(plain_word) - (len(plain_word) % 4 == 1)]
        yield from _read_bytes(b64decode(whole + "=" * (-len(whole) % 4)))
    for encoded in _BASE32.findall(word):
        whole = encoded[
            : len(encoded) - (len(encoded) % 8 in (1, 3, 6))
        ]  # no count of bytes has so many characters
        yield from _read_bytes(b32decode(whole + "=" * (-len(whole) % 8), casefold=True))


def _read_bytes(content: bytes) -> Iterator[str]:
    """Yield bytes as text, and what they are if gzip, zlib, deflate, bzip2 or xz compressed them, up to a limit."""
    yield content.decode("latin-1")
    for begin, decompressor in _DECOMPRESSORS:
        if content.startswith(begin):
            with suppress(zlib.error, lzma.LZMAError, OSError, EOFError):
                yield decompressor().decompress(content, _READ).decode("latin-1")


def _mask_ends(text: str, secrets: Iterable[str]) -> str:
    """Hide the beginning of a secret at the end of a text that was cut off there, and its end at the beginning."""
    for secret in secrets:
        least = max(_LEAST_CHARACTERS, len(secret) // 2)
        for size in range(len(secret) - 1, least - 1, -1) if len(secret) >= _WORDY else ():
            if text.endswith(secret[:size]):
                text = text[:-size] + HIDDEN
            if text.startswith(secret[-size:]):
                text = HIDDEN + text[size:]
    return text


def _without_words(text: str, encoded: re.Pattern[str]) -> str:
    """Hide every word of Base64 that has a match in it."""
    parts, at = [], 0
    for match in encoded.finditer(text):
        begin, end = match.span()
        while begin > at and text[begin - 1] in _ALPHABET:
            begin -= 1
        while end < len(text) and text[end] in _ALPHABET:
            end += 1
        if end > at:
            parts += [text[at:begin], HIDDEN]
            at = end
    return "".join([*parts, text[at:]])


def _without_groups(text: str, grouped: re.Pattern[str]) -> str:
    """Hide every match of Base85, and the group before it, which can have three bytes of the secret."""
    parts, at = [], 0
    for match in grouped.finditer(text):
        begin = match.start()
        head = text[max(at, begin - _GROUP) : begin]
        parts += [
            text[at : begin - len(head.split()[-1]) if head and not head[-1].isspace() else begin],
            HIDDEN,
        ]
        at = match.end()
    return "".join([*parts, text[at:]])


def excerpt(text: str, *known: str, longest: int = 300, end: bool = False) -> str:
    """Return the beginning or the end of a text on one line and without secrets; it is cut after they are hidden."""
    part = text[-_READ:] if end else text[:_READ]
    words = " ".join(redact_text(part, *known).split())
    if len(words) <= longest:
        return words
    return f"…{words[-longest:]}" if end else f"{words[:longest]}…"


def secrets_in(text: str) -> frozenset[str]:
    """Return the words of a text that `redact_text` hides without being given a secret."""
    return frozenset(match[4] for match in _AFTER_WORD.finditer(text) if match[4].lower() not in _PLAIN)


def _hide_word(match: re.Match[str]) -> str:
    if match[4].lower() in _PLAIN:
        return match[0]
    return f"{match[1]}{match[2]}{match[3] or ''}{HIDDEN}"


def _hide_login(match: re.Match[str]) -> str:
    """Hide what decodes to a user and a password, also when its end is missing."""
    word = re.sub("%3D", "=", match[2], flags=re.I).replace("-", "+").replace("_", "/").rstrip("=")
    try:
        found = b64decode(word[: len(word) // 4 * 4])
    except (ValueError, binascii.Error):
        return match[0]
    return f"{match[1]}{HIDDEN}" if b":" in found else match[0]


@lru_cache(256)
def _secret_patterns(secret: str) -> tuple[re.Pattern[str], re.Pattern[str] | None, re.Pattern[str] | None]:
    """Return the patterns of every form of a secret: as text, in Base64 and Base32, and in Base85."""
    words: list[str] = []
    groups: list[str] = []
    between, fold = (_BETWEEN, "(?i:") if len(secret) >= _WORDY else (f"(?:{_NUL})?", "(?:")
    plain = between.join(_character_pattern(one) for one in unicodedata.normalize("NFC", secret))
    forms = [f"{fold}{plain})"]
    if len(secret) >= _WORDY:
        forms += [f"(?i:{re.escape(one)})" for one in (secret[::-1], codecs.encode(secret, "rot13"))]
    for encoding in _ENCODINGS:
        try:
            content = secret.encode(encoding)
        except UnicodeEncodeError:
            continue
        if len(content) >= _LEAST_BYTES:
            forms.append(_BETWEEN_BYTES.join(_hexadecimal_pattern(byte) for byte in content) + _DUMP)
            forms += [rf"\b{_BETWEEN_NUMBERS.join(f'0{{0,2}}{byte}' for byte in content)}\b"]
            forms += [rf"\b{_BETWEEN_NUMBERS.join(f'{byte:03o}' for byte in content)}\b"]
            swapped = (_swapped_pattern(content[begin:]) for begin in range(2 * (encoding in _BYTEWISE)))
            forms += filter(None, swapped)
        words += [form for symbols in _PACKED for form in _packed_patterns(content, symbols)]
        if len(secret) >= _WORDY and encoding in _BYTEWISE:
            words += [form for symbols in _RARELY_PACKED for form in _packed_patterns(content, symbols)]
            groups += [form for skipped in range(4) for form in _base85_patterns(content, skipped)]
            groups += [_base45_pattern(content[skipped:]) for skipped in range(2)]
    encoded, grouped = (
        re.compile("|".join(dict.fromkeys(patterns))) if patterns else None for patterns in (words, groups)
    )
    return re.compile("|".join(dict.fromkeys(forms))), encoded, grouped


def _character_pattern(one: str) -> str:
    """Return the pattern of a character in every escape."""
    code = ord(one)
    forms = [re.escape(one), rf"\\{{1,8}}{re.escape(one)}"]
    forms += [
        rf"(?:\\{{1,8}}|%(?:25)*)u(?i:{code:04x})",
        rf"\\{{1,8}}u\{{0*(?i:{code:x})\}}",
        rf"\\{{1,8}}U(?i:{code:08x})",
    ]
    forms += [rf"&(?:amp;)*#0*{code}(?:;|(?!\d))", rf"&(?:amp;)*#[xX]0*(?i:{code:x})(?:;|(?![0-9a-fA-F]))"]
    forms += [rf"&(?:amp;)*{name};" for name in _ENTITIES.get(one, ())]
    forms += _ESCAPES.get(one, ())
    if one == " ":
        forms += [r"\+", "\u00a0"]
    if "!" <= one <= "~":
        forms.append(chr(code + 0xFEE0))  # its full-width form
    else:
        forms.append(rf"\+{re.escape(b64encode(one.encode('utf-16-be')).decode().rstrip('='))}-?")  # UTF-7
    if code > 0xFFFF:
        high, low = 0xD800 + ((code - 0x10000) >> 10), 0xDC00 + (code & 0x3FF)
        forms.append(rf"\\{{1,8}}u(?i:{high:04x})\\{{1,8}}u(?i:{low:04x})")
    for encoding in ("utf-8", "latin-1"):
        try:
            content = one.encode(encoding)
        except UnicodeEncodeError:
            continue
        forms.append("".join(rf"%(?:25)*(?i:{byte:02x})" for byte in content))
        forms.append("".join(rf"\\{{1,8}}x(?i:{byte:02x})" for byte in content))
        forms.append("".join(rf"=(?i:{byte:02x})" for byte in content))
        forms.append("".join(rf"\\{{1,8}}{byte:03o}" for byte in content))
        forms += [re.escape(content.decode(other, "replace")) for other in ("latin-1", "cp1252", "utf-8")]
    if code > 0x7F:
        forms += [re.escape(unicodedata.normalize("NFD", one)), r"\?", "\ufffd{1,4}"]
    return f"(?:{'|'.join(dict.fromkeys(forms))})"


_ENTITIES: dict[str, list[str]] = {}
for _name, _value in html5.items():
    if len(_value) == 1 and _name.endswith(";"):
        _ENTITIES.setdefault(_value, []).append(_name[:-1])
_ESCAPES = {"'": (r"'\\''", r"'\"'\"'"), "/": (r"\\{1,8}/",), "\\": (r"\\\\{1,8}",)}
"""How shells and JSON write these."""


def _hexadecimal_pattern(byte: int) -> str:
    return f"(?i:{byte:02x})"


def _swapped_pattern(content: bytes) -> str:
    """Return the pattern of bytes as `hexdump` and `od -x` print them: in pairs, the second byte of each first.

    A word before and one after them are hidden too: they may have the first or last byte.
    """
    pairs = [content[at : at + 2] for at in range(0, len(content) - 1, 2)]
    if len(pairs) * 2 < _LEAST_BYTES:
        return ""
    words = (_hexadecimal_pattern(second) + _hexadecimal_pattern(first) for first, second in pairs)
    return rf"(?:\b[0-9a-fA-F]{{4}} )?{_BETWEEN_BYTES.join(words)}(?: [0-9a-fA-F]{{4}}\b)?"


def _packed_patterns(content: bytes, symbols: Sequence[str]) -> Iterator[str]:
    """Yield the pattern of the word that has these bytes, at each place where they can begin in a symbol.

    Only the symbols that no neighbor of the bytes changes are compared.
    """
    bits = len(symbols).bit_length() - 1
    number = int.from_bytes(content, "big")
    for skipped in range(bits // math.gcd(bits, 8)):
        size = (skipped + len(content)) * 8
        places = range(-(-skipped * 8 // bits), size // bits)
        if len(places) >= _LEAST_CHARACTERS:
            yield _GAP.join(symbols[number >> (size - (at + 1) * bits) & (len(symbols) - 1)] for at in places)


def _base45_pattern(content: bytes) -> str:
    """Return the pattern of bytes in Base45 (RFC 9285): three characters stand for two bytes."""
    pairs = zip(content[::2], content[1::2], strict=False)
    numbers = (256 * high + low for high, low in pairs)
    digits = "".join(_BASE45[n % 45] + _BASE45[n // 45 % 45] + _BASE45[n // 2025] for n in numbers)
    return rf"{re.escape(digits)}[^\s\"]*"


def _base85_patterns(content: bytes, skipped: int) -> Iterator[str]:
    """Yield the pattern of each kind of Base85 that has these bytes behind a number of bytes modulo four.

    Five characters stand for four bytes: only whole groups of the bytes are compared. The rest of the word is hidden
    too; for the group before it, see `_without_groups`.
    """
    begin = -skipped % 4
    groups = content[begin : len(content) - (len(content) - begin) % 4]
    for encode in _BASE85:
        yield rf"{re.escape(encode(groups).decode())}[^\s\"]*"
