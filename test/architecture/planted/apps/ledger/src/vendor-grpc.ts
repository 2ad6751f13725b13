// breaks: vendor-grpc-grpc-js, no-undeclared-package
import * as it from '@grpc/grpc-js';
export const used = it;
