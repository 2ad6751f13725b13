// breaks: vendor-kurrent-kurrentdb-client, no-undeclared-package
import * as it from '@kurrent/kurrentdb-client';
export const used = it;
