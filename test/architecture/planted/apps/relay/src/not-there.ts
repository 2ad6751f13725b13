// breaks: no-unresolvable
import * as it from 'is-not-there';
export const used = it;
