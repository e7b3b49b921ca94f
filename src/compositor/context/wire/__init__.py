"""Bytes to and from model services: the one encoder, and the decoders of streamed answers."""
