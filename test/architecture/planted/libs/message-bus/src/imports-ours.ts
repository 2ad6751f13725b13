// breaks: message-bus-imports-ours
import * as it from '@countersign/event-store';
export const used = it;
