/** The engine on workerd: one Durable Object a unit. Start with `unit-object.ts`, then `engine.ts`. */
export type { Bucket, BucketObject, BucketUpload } from './blobs/bucket.ts';
export { type BucketBlobStoreOptions, makeBucketBlobStore } from './blobs/bucket-blob-store.ts';
export { makeR2Bucket } from './blobs/r2-bucket.ts';
export { makeS3Bucket, type S3BucketOptions } from './blobs/s3-bucket.ts';
export { type UnitNamespace, type WorkerdEngineOptions, workerdEngine } from './engine.ts';
export type { PointInTime } from './tools/history.ts';
export { makeUnitTools } from './tools/unit-tools.ts';
export {
  makeUnitObject,
  type UnitHistoryOptions,
  type UnitObject,
  type UnitObjectOptions,
  type UnitWork,
  type WorkingObject,
} from './unit-object.ts';
