// breaks: vendor-ipaddr.js
import * as it from 'ipaddr.js';
export const used = it;
