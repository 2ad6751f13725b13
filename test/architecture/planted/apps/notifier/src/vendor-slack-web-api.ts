// breaks: vendor-slack-web-api, no-undeclared-package
import * as it from '@slack/web-api';
export const used = it;
