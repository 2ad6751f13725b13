// breaks: entrance-only
import * as it from '@countersign/event-store/testing';
export const used = it;
