/** Form fields: a label, the field, a hint, and what the server found wrong with it. */
import { type ComponentProps, type ReactNode, useId } from 'react';
import type { ApiError } from '../lib/api.ts';

interface FieldProps {
  readonly label: string;
  readonly hint?: string;
  /** The field's name in the operation's input: where the server's complaint is found. */
  readonly name?: string;
  readonly error?: ApiError | null;
}

interface Wiring {
  readonly id: string;
  readonly 'aria-describedby': string | undefined;
  readonly 'aria-invalid': boolean;
}

function Field({
  label,
  hint,
  name,
  error,
  children,
}: FieldProps & { children: (wiring: Wiring) => ReactNode }) {
  const id = useId();
  const complaint = name === undefined ? undefined : error?.fields.get(name);
  const told = [hint && `${id}-hint`, complaint && `${id}-error`].filter(Boolean).join(' ');
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({ id, 'aria-describedby': told || undefined, 'aria-invalid': complaint !== undefined })}
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {complaint && (
        <p className="field-error" id={`${id}-error`}>
          {label} {complaint}
        </p>
      )}
    </div>
  );
}

export function TextField({
  label,
  hint,
  name,
  error,
  ...input
}: FieldProps & Omit<ComponentProps<'input'>, 'name'>) {
  return (
    <Field label={label} {...(hint && { hint })} {...(name && { name })} error={error ?? null}>
      {(wiring) => <input type="text" autoComplete="off" {...input} {...wiring} />}
    </Field>
  );
}

export function TextArea({
  label,
  hint,
  name,
  error,
  ...input
}: FieldProps & Omit<ComponentProps<'textarea'>, 'name'>) {
  return (
    <Field label={label} {...(hint && { hint })} {...(name && { name })} error={error ?? null}>
      {(wiring) => <textarea rows={4} {...input} {...wiring} />}
    </Field>
  );
}

export function SelectField({
  label,
  hint,
  name,
  error,
  children,
  ...input
}: FieldProps & Omit<ComponentProps<'select'>, 'name'>) {
  return (
    <Field label={label} {...(hint && { hint })} {...(name && { name })} error={error ?? null}>
      {(wiring) => (
        <select {...input} {...wiring}>
          {children}
        </select>
      )}
    </Field>
  );
}

export function CheckField({ label, ...input }: { label: string } & ComponentProps<'input'>) {
  return (
    <label className="check">
      <input type="checkbox" {...input} />
      <span>{label}</span>
    </label>
  );
}
