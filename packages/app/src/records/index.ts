/** For the tools of builders: the migration that a change of declared records needs. */
export {
  type Consent,
  type Difference,
  differenceOf,
  migrationText,
  presentSchema,
} from './difference.ts';
export { type AnyRecords, recordTypesOf } from './records.ts';
