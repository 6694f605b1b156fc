"""The models that the studio offers, and their prices."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from standins.studio.job import CURRENCY
from standins.studio.params import (
    AUDIO_SECONDS,
    IMAGE_SIZES,
    VIDEO_SECONDS,
    VIDEO_SIZES,
    AudioParams,
    Params,
    VideoParams,
)

PICTURES = ("image/png", "image/jpeg", "image/webp")
CENT = Decimal("0.01")


@dataclass(frozen=True)
class StudioOffer:
    """A model with its price for a job or for each second of output, charged once, when a job succeeds."""

    id: str
    kind: str
    title: str
    sizes: tuple[str, ...]
    durations: tuple[int, ...]
    input_roles: tuple[str, ...]
    price: Decimal
    per: Literal["job", "second"]
    output: str

    def cost(self, params: Params) -> Decimal:
        """Return what a job with these params costs, to the cent."""
        seconds = params.seconds if isinstance(params, VideoParams | AudioParams) else 1
        return (self.price * (seconds if self.per == "second" else 1)).quantize(CENT)

    def view(self) -> dict[str, object]:
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "sizes": list(self.sizes),
            "durations": list(self.durations),
            "inputs": [{"role": role, "media_types": list(PICTURES), "max": 1} for role in self.input_roles],
            "price": {"amount": str(self.price), "currency": CURRENCY, "per": self.per},
            "output": self.output,
            "standin": True,
        }


PICTURE_ROLES = ("source", "reference")
OFFERS = (
    StudioOffer(
        id="studio-poster-1", kind="image", title="Posters (offline stand-in)", output="image/png",
        sizes=IMAGE_SIZES, durations=(), input_roles=PICTURE_ROLES, price=Decimal("0.04"), per="job",
    ),
    StudioOffer(
        id="studio-film-1", kind="video", title="Short films (offline stand-in)", output="video/mp4",
        sizes=VIDEO_SIZES, durations=VIDEO_SECONDS, input_roles=PICTURE_ROLES, price=Decimal("0.05"), per="second",
    ),
    StudioOffer(
        id="studio-sound-1", kind="audio", title="Sounds (offline stand-in)", output="audio/wav",
        sizes=(), durations=AUDIO_SECONDS, input_roles=(), price=Decimal("0.01"), per="second",
    ),
    StudioOffer(
        id="studio-form-1", kind="model3d", title="Forms (offline stand-in)", output="model/gltf-binary",
        sizes=(), durations=(), input_roles=(), price=Decimal("0.10"), per="job",
    ),
)  # fmt: skip


def offer_named(model: str) -> StudioOffer | None:
    """The model of that id, or None."""
    return next((offer for offer in OFFERS if offer.id == model), None)
