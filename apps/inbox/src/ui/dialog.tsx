import { Dialog as Primitive } from 'radix-ui';
import type { ReactNode } from 'react';

/** A modal dialog. Escape and the cross close it. It keeps the focus inside and restores it afterwards. */
export function Dialog(props: {
  title: ReactNode;
  description?: ReactNode;
  size?: 'small' | 'large';
  onClose: () => void;
  children: ReactNode;
}): ReactNode {
  const { title, description, size = 'small', onClose, children } = props;
  return (
    <Primitive.Root open onOpenChange={(isOpen) => !isOpen && onClose()}>
      <Primitive.Portal>
        {/* Not the library's own overlay: that adds a style element, which the content security policy forbids. */}
        <div className="dialog-backdrop" aria-hidden="true" />
        <Primitive.Content
          className={`dialog dialog-${size}`}
          {...(description === undefined && { 'aria-describedby': undefined })}
        >
          <header className="dialog-head">
            <Primitive.Title className="dialog-title">{title}</Primitive.Title>
            <Primitive.Close className="button quiet icon" aria-label="Close">
              ✕
            </Primitive.Close>
          </header>
          {description !== undefined && (
            <Primitive.Description className="dialog-description">{description}</Primitive.Description>
          )}
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
