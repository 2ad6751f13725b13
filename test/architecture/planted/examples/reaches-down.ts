// breaks: examples-import-ours
import * as it from '@countersign/event-store';
export const used = it;
