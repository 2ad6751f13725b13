import { placeLabelsOf } from '@countersign/contracts';
import { z } from 'zod';

/** Texts by name, such as `{ telegramChat: '-1001' }`. */
export type Labels = Readonly<Record<string, string>>;

const labelsSchema = z.record(z.string(), z.string());

/**
 * Returns the labels of one call, which are not those of its tool.
 *
 * Attack: a call names another folder or server than the tool works with. Where it works is said by the labels of the tool alone.
 *
 * @throws TypeError for anything but texts by name, and for the name of a label that says where a tool works.
 */
export function checkedCallLabels(labels: unknown): Labels {
  const result = labelsSchema.safeParse(labels);
  if (!result.success) throw new TypeError('the labels of a call are texts by name');
  const [place] = Object.keys(placeLabelsOf(result.data));
  if (place === undefined) return result.data;
  throw new TypeError(
    `the label ${place} says where the tool works, so it is one of the tool and the same for all of its calls`,
  );
}
