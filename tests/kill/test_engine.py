"""The engine is killed at every hop."""

from tests.kill.matrix import killed_at_every_hop

test_story_ends_right = killed_at_every_hop("engine")
