/** The records of an application that have an address of their own, from which the supplied routes around them follow. */
import { type InputShape, inputShape, readText } from '@freehold/contracts/http';
import { pathParams } from '@freehold/operations';
import type { z } from 'zod';
import { recordTypesOf } from '../records/records.ts';
import type { AppDeclaration } from './app.ts';

/** A type of records with an address of its own: that of the operation `<type>/get`. */
export interface AddressedRecord {
  readonly type: string;
  /** `/api/orders/:order` */
  readonly path: string;
  /** The name of the parameter, which is also the input field of the operation. */
  readonly parameter: string;
  /** The id that a text of an address stands for: some are numbers. @throws PlatformError `validation_failed` */
  readonly readId: (text: string) => unknown;
  /** Whether the manifest lets it have attachments. */
  readonly attachments: boolean;
  /** Whether it is made by `records`, and so has pages. */
  readonly hasPages: boolean;
}

/** The types of records with an address: those with an operation `<type>/get` that a GET reaches. */
export function recordsOf({ manifest, operations }: AppDeclaration): AddressedRecord[] {
  const declared = new Set(recordTypesOf(operations).map(({ type }) => type));
  return Object.entries(manifest.entities).flatMap(([type, entity]) => {
    const read = operations[`${type}/get`];
    const parameters = read?.http ? pathParams(read.http.path) : [];
    const [parameter] = parameters;
    if (read?.http?.method !== 'GET' || parameter === undefined || parameters.length > 1) return [];
    const { http, input } = read;
    return [
      {
        type,
        path: http.path,
        parameter,
        readId: makeReadId(parameter, input),
        attachments: entity.attachments !== undefined,
        hasPages: declared.has(type),
      },
    ];
  });
}

/** The schema is looked into at the first request: a declaration is checked before that, and often. */
function makeReadId(parameter: string, input: z.ZodType): AddressedRecord['readId'] {
  let shape: InputShape | undefined;
  return (text) => {
    shape ??= inputShape(input);
    return readText('The address', [[parameter, [text]]], shape)[parameter];
  };
}
