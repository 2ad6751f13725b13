// breaks: entrance-only
import * as it from '../../../libs/text/src/inner.js';
export const used = it;
