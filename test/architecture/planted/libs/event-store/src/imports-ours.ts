// breaks: event-store-imports-ours
import * as it from '@countersign/domain';
export const used = it;
