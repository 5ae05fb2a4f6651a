/** The records of an application that have an address of their own, from which the supplied routes around them follow. */
import { pathParams } from '@freehold/operations';
import type { AppDeclaration } from './app.ts';

/** A type of records with an address of its own: that of the operation `<type>/get`. */
export interface AddressedRecord {
  readonly type: string;
  /** `/api/orders/:order` */
  readonly path: string;
  /** The name of the parameter, which is also the input field of the operation. */
  readonly parameter: string;
  /** Whether the manifest lets it have attachments. */
  readonly attachments: boolean;
}

/** The types of records with an address: those with an operation `<type>/get` that a GET reaches. */
export function recordsOf({ manifest, operations }: AppDeclaration): AddressedRecord[] {
  return Object.entries(manifest.entities).flatMap(([type, entity]) => {
    const read = operations[`${type}/get`];
    const parameters = read?.http ? pathParams(read.http.path) : [];
    const [parameter] = parameters;
    if (read?.http?.method !== 'GET' || parameter === undefined || parameters.length > 1) return [];
    return [{ type, path: read.http.path, parameter, attachments: entity.attachments !== undefined }];
  });
}
