// breaks: entrance-only-from-outside
import * as it from '../libs/event-store/src/inner.js';
export const used = it;
