"""Ids in the form of MTurk's."""

import secrets
import string

ID_ALPHABET = string.ascii_uppercase + string.digits
ID_LENGTH = 30


def new_id() -> str:
    number = secrets.randbelow(len(ID_ALPHABET) ** ID_LENGTH)
    characters = []
    for _ in range(ID_LENGTH):
        number, digit = divmod(number, len(ID_ALPHABET))
        characters.append(ID_ALPHABET[digit])
    return "".join(characters)
