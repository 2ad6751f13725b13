// breaks: entrance-only
import * as it from '../../../libs/event-store/src/inner.js';
export const used = it;
