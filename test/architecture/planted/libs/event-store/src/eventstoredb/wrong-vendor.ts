// breaks: vendor-sqlite
import * as it from 'node:sqlite';
export const used = it;
