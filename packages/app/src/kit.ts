/** The words of a declaration, so that an application imports one package: operations, their schemas and their errors. */
export {
  cutPage,
  decodeCursor,
  type EntityRef,
  type EventRecord,
  fromTimestamp,
  idSchema,
  lineOfText,
  noteText,
  type Page,
  PlatformError,
  pageOf,
  pageQuery,
  principalId,
  timestamp,
  toTimestamp,
  type VerticalManifest,
} from '@freehold/contracts';
export {
  defineOperations,
  type Executor,
  type LongWork,
  type OperationContext,
  operation,
  type Schedule,
  type Subscription,
  type WorkHandle,
} from '@freehold/kernel';
export type { Migration, SqlDatabase } from '@freehold/store';
