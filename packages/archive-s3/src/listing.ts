/** A page of keys as S3 answers it (AWS, "ListObjectsV2"). */
import { PlatformError } from '@freehold/contracts';

export interface Listing {
  readonly keys: readonly string[];
  /** The token that asks for the next page; null on the last one. */
  readonly nextToken: string | null;
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * Reads a page that was asked for with `encoding-type=url`.
 * @throws PlatformError `unavailable`, reason `archive_unavailable`, for anything else: a page that is cut off must not
 * be taken for a short one, or a restore would miss what it does not show.
 */
export function parseListing(xml: string): Listing {
  if (!/<\/ListBucketResult>\s*$/.test(xml)) throw unreadable();
  const isTruncated = textOf(xml, 'IsTruncated');
  const nextToken = textOf(xml, 'NextContinuationToken');
  if (isTruncated === null || (isTruncated === 'true') !== (nextToken !== null)) throw unreadable();
  const keys = [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)].map(([, contents = '']) => {
    const key = textOf(contents, 'Key');
    if (key === null) throw unreadable();
    return decodeURIComponent(key.replaceAll('+', ' '));
  });
  return { keys, nextToken };
}

function textOf(xml: string, element: string): string | null {
  const text = new RegExp(`<${element}>([^<]*)</${element}>`).exec(xml)?.[1];
  return text === undefined
    ? null
    : text.replace(/&(\w+);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

function unreadable(): PlatformError {
  return new PlatformError('unavailable', "The archive's store answered a listing that cannot be read.", {
    reason: 'archive_unavailable',
  });
}
