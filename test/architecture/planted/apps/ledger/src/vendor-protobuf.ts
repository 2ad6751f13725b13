// breaks: vendor-google-protobuf, no-undeclared-package
import * as it from 'google-protobuf';
export const used = it;
