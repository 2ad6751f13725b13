// breaks: entrance-only-for-specs
import * as it from '../../../libs/event-store/src/inner.js';
export const used = it;
