// breaks: vendor-standardwebhooks, no-undeclared-package
import * as it from 'standardwebhooks';
export const used = it;
