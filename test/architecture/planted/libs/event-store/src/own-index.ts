// breaks: no-own-index
import * as it from './index.js';
export const used = it;
