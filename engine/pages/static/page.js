import { listenForButtons } from "./buttons.js";
import { startFilter } from "./filter.js";
import { startLive } from "./live.js";
import { startSending } from "./send.js";
import { showTimes } from "./times.js";

showTimes(document);
listenForButtons();
startFilter();
startSending();
startLive();
