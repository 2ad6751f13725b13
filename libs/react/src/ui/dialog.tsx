import * as Primitive from '@radix-ui/react-dialog';
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
        <div className="cs-root cs-dialog-backdrop" aria-hidden="true" />
        <Primitive.Content
          className={`cs-root cs-dialog cs-dialog-${size}`}
          {...(description === undefined && { 'aria-describedby': undefined })}
        >
          <header className="cs-dialog-head">
            <Primitive.Title className="cs-dialog-title">{title}</Primitive.Title>
            <Primitive.Close className="cs-button cs-quiet cs-icon" aria-label="Close">
              ✕
            </Primitive.Close>
          </header>
          {description !== undefined && (
            <Primitive.Description className="cs-dialog-description">{description}</Primitive.Description>
          )}
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}
