// Every page: local times, a live view, and what its buttons and forms do.
import { listenForActions } from "./actions.js";
import { startComposer } from "./composer.js";
import { startLive } from "./live.js";
import { showLocalTimes } from "./times.js";

showLocalTimes(document);
listenForActions();
startComposer();
startLive();
