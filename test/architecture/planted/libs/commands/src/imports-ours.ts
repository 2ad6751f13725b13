// breaks: commands-imports-ours
import * as it from '@countersign/message-bus';
export const used = it;
