# The SDK's own types, with one difference: what an event carries is `Any`, not a union that every skill would have to
# take apart before it may add one to a number.
import logging
from typing import Any, TypeAlias, TypeGuard, TypeVar

import pydantic
from typing_extensions import TypeVarTuple

Logger: TypeAlias = logging.Logger | logging.LoggerAdapter[logging.Logger]

T = TypeVar("T")
TTuple = TypeVarTuple("TTuple")

class EmptySentinel: ...

empty_sentinel: EmptySentinel

JSON: TypeAlias = Any

class BaseModel(pydantic.BaseModel):
    def __init__(__pydantic_self__, *args: object, **kwargs: object) -> None: ...
    def convert_validation_error(self, err: pydantic.ValidationError) -> BaseException: ...
    @classmethod
    def from_raw(cls: type[BaseModelT], raw: object) -> BaseModelT | Exception: ...
    def to_dict(self) -> dict[str, object] | Exception: ...

BaseModelT = TypeVar("BaseModelT", bound=BaseModel)

MaybeError: TypeAlias = T | Exception

def is_dict(v: object) -> TypeGuard[dict[object, object]]: ...
def is_dict_keys(v: object, key_type: type[T]) -> TypeGuard[dict[T, object]]: ...
def is_list(v: object) -> TypeGuard[list[object]]: ...
def is_list_items(v: object, item_type: type[T]) -> TypeGuard[list[T]]: ...
