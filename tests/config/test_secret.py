"""A secret shows itself to nobody who does not ask for it by name."""

import pickle

import msgspec
import pytest

from compositor.config.secret import Secret


def test_a_secret_is_masked_in_every_printed_form() -> None:
    secret = Secret("sk-very-secret")
    for text in (repr(secret), str(secret), f"{secret}", f"{secret!r:>30}", repr([secret]), repr({"k": secret})):
        assert "sk-very-secret" not in text
        assert "***" in text
    assert secret.reveal() == "sk-very-secret"


def test_a_secret_is_neither_pickled_nor_encoded() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret("sk-very-secret"))
    with pytest.raises(TypeError):
        msgspec.json.encode({"key": Secret("sk-very-secret")})
