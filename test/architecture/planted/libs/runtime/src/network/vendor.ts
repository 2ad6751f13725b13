// breaks: nothing
import * as it from 'ipaddr.js';
export const used = it;
