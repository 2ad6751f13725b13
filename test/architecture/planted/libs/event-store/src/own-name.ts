// breaks: no-own-index
import * as it from '@countersign/event-store';
export const used = it;
