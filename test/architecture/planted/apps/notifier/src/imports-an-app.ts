// breaks: notifier-imports-ours
import * as it from '@countersign/gateway';
export const used = it;
