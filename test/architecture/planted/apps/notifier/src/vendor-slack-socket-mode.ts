// breaks: vendor-slack-socket-mode, no-undeclared-package
import * as it from '@slack/socket-mode';
export const used = it;
