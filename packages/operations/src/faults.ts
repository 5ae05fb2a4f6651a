/** Mistakes in a declaration: each with its place, a stable code and a sentence. */
import { IN_WORDS, type UndeclaredName } from '@freehold/contracts';
import { z } from 'zod';

/** The codes of {@link schemaFaults}. A code keeps its meaning; new ones are added. */
export const SCHEMA_FAULT_CODES = [
  'missing_field',
  'unknown_field',
  'wrong_type',
  'invalid_value',
  'unknown_permission',
  'unknown_role',
  'unknown_entity',
] as const;
export type SchemaFaultCode = (typeof SCHEMA_FAULT_CODES)[number];

/** The keys and indices on the way to a part of a declaration. */
export type FaultPath = readonly (string | number)[];

/** One mistake. */
export interface DeclarationFault<Code extends string = SchemaFaultCode> {
  /** `['operations', 'order/create', 'permission']` */
  readonly path: FaultPath;
  readonly code: Code;
  /** Follows the name of the place and a colon, without a full stop: `names an undeclared permission: order.raed`. */
  readonly message: string;
  /** The name that is not there, and those that could be meant. */
  readonly unknown?: { readonly name: string; readonly known: readonly string[] };
}

/** Receives a mistake. */
export type ReportFault<Code extends string> = (fault: DeclarationFault<Code>) => void;

/** Runs a check, and returns the mistakes that it reported. */
export function faultsIn<Code extends string>(
  check: (report: ReportFault<Code>) => void,
): DeclarationFault<Code>[] {
  const faults: DeclarationFault<Code>[] = [];
  check((fault) => faults.push(fault));
  return faults;
}

/** @throws TypeError that names the place of the first mistake; nothing without one. */
export function throwFirst([first]: readonly DeclarationFault<string>[]): void {
  if (first !== undefined) throw new TypeError(`${placeOf(first.path)}: ${first.message}`);
}

/** The place as code writes it: `operations['order/create'].permission`, `grants[0]`. */
export function placeOf(path: FaultPath): string {
  return path.reduce<string>((place, key) => {
    if (typeof key === 'number') return `${place}[${key}]`;
    if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${place}['${key.replaceAll("'", "\\'")}']`;
    return place === '' ? key : `${place}.${key}`;
  }, '');
}

/** The mistakes of a value by its schema. `at` is the place of the value. */
export function schemaFaults(schema: z.ZodType, value: unknown, at: FaultPath): DeclarationFault[] {
  const { error } = schema.safeParse(value, IN_WORDS);
  return (error?.issues ?? []).flatMap((issue) => faultsOf(issue, schema, at));
}

function faultsOf(issue: z.core.$ZodIssue, schema: z.ZodType, at: FaultPath): DeclarationFault[] {
  const inside = issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key));
  const path = [...at, ...inside];
  if (issue.code === 'unrecognized_keys') {
    const known = fieldsAt(schema, inside);
    return issue.keys.map((name) => ({
      path: [...path, name],
      code: 'unknown_field',
      message: 'is no field of this part',
      unknown: { name, known },
    }));
  }
  const undeclared =
    issue.code === 'custom' ? (issue.params?.undeclared as UndeclaredName | undefined) : undefined;
  if (undeclared !== undefined) {
    const { kind, name, declared } = undeclared;
    return [{ path, code: `unknown_${kind}`, message: issue.message, unknown: { name, known: declared } }];
  }
  if (issue.message === 'is missing') return [{ path, code: 'missing_field', message: issue.message }];
  if (issue.code === 'invalid_key')
    return [{ path, code: 'invalid_value', message: issue.issues[0]?.message ?? issue.message }];
  const isType =
    issue.code === 'custom' ? issue.params?.isType === true : /^invalid_(type|union)$/.test(issue.code);
  return [{ path, code: isType ? 'wrong_type' : 'invalid_value', message: issue.message }];
}

/** The fields of the object at a place of a schema. */
function fieldsAt(schema: z.ZodType, path: FaultPath): readonly string[] {
  if (schema instanceof z.ZodOptional) return fieldsAt(schema.unwrap() as z.ZodType, path);
  if (schema instanceof z.ZodUnion)
    return schema.options.flatMap((each) => fieldsAt(each as z.ZodType, path));
  const [key, ...rest] = path;
  if (key === undefined) return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
  const inner = innerSchema(schema, key);
  return inner === undefined ? [] : fieldsAt(inner as z.ZodType, rest);
}

function innerSchema(schema: z.ZodType, key: string | number) {
  if (schema instanceof z.ZodObject) return schema.shape[key];
  if (schema instanceof z.ZodRecord) return schema.valueType;
  return schema instanceof z.ZodArray ? schema.element : undefined;
}
