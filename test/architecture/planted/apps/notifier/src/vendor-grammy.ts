// breaks: vendor-grammy, no-undeclared-package
import * as it from 'grammy';
export const used = it;
