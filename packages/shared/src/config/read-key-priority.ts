import { ceilingOf, type KeyPriority, PRIORITIES, rankOf } from '../contract/priority.js';
import { type ConfigReader, isAbsent } from './reader.js';

/** Reads `priority` and `max_priority` of a key. `path` is the prefix of the field names in a mistake. */
export function readKeyPriority(
  reader: ConfigReader,
  fields: Record<string, unknown>,
  path: string,
): KeyPriority {
  const read = (name: string) =>
    isAbsent(fields[name]) ? undefined : reader.oneOf(fields[name], `${path}${name}`, PRIORITIES);
  const priority = read('priority');
  const maxPriority = read('max_priority');
  if (priority && rankOf(priority) < rankOf(ceilingOf({ priority, maxPriority })))
    reader.mistake(`${path}priority`, 'cannot be above max_priority');
  return {
    ...(priority === undefined ? {} : { priority }),
    ...(maxPriority === undefined ? {} : { maxPriority }),
  };
}
