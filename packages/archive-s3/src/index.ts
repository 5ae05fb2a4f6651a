/** Archives in an S3 bucket. Start with `s3-archive.ts`. */
export { makeS3Archive, type S3ArchiveOptions } from './s3-archive.ts';
