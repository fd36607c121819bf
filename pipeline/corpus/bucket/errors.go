package bucket

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	"gocloud.dev/gcerrors"

	"graphmill/pipeline/corpus"
)

// Hints for what whoever runs the program can put right.
const (
	hintMissing     = "check the bucket's name, region and endpoint"
	hintDenied      = "the credentials need s3:ListBucket on the bucket and s3:GetObject on its objects"
	hintCredentials = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or ~/.aws; anonymous=true reads a public bucket"
	hintRegion      = "the bucket is in another region: set region=… in the address"
	hintReach       = "check the endpoint and the network"
)

// listError is an error of a listing, which concerns every file.
func listError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code, message := codeOf(err)
	said := func(reason, hint string) error {
		if message != "" {
			reason += " (" + message + ")"
		}
		return fmt.Errorf("%s; %s", reason, hint)
	}
	switch {
	case code == "NoSuchBucket" || gcerrors.Code(err) == gcerrors.NotFound:
		return said("there is no such bucket", hintMissing)
	case strings.HasSuffix(code, "Redirect"), code == "AuthorizationHeaderMalformed", code == "IllegalLocationConstraintException":
		return said("the bucket does not answer here", hintRegion)
	case aboutCredentials(code):
		return said("the credentials are refused", hintCredentials)
	case code == "AccessDenied" || gcerrors.Code(err) == gcerrors.PermissionDenied:
		return said("listing is not allowed", hintDenied)
	case strings.Contains(err.Error(), "get credentials:"):
		return fmt.Errorf("there are no credentials; %s", hintCredentials)
	}
	return fmt.Errorf("%w: %s; %s", ErrUnreachable, quiet(err), hintReach)
}

// readError is an error of one object's.
func readError(err error) error {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	code, message := codeOf(err)
	own := &corpus.FileError{Kind: corpus.KindRead, Reason: "the store does not give it: " + message}
	switch gc := gcerrors.Code(err); {
	case code == "InvalidObjectState":
		own.Hint = "it is archived; restore it, or exclude it"
	case gc == gcerrors.FailedPrecondition:
		return corpus.ErrChanged
	case gc == gcerrors.NotFound:
		own.Kind, own.Reason = corpus.KindVanished, "the object is not there (any more)"
	case aboutCredentials(code):
		own.Kind, own.Hint = corpus.KindPermission, hintCredentials
	case gc == gcerrors.PermissionDenied:
		own.Kind, own.Reason, own.Hint = corpus.KindPermission, "permission denied", hintDenied
	case code == "":
		own.Reason, own.Hint = "the store cannot be reached: "+quiet(err), hintReach
	}
	return own
}

func aboutCredentials(code string) bool {
	switch code {
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "RequestTimeTooSkewed":
		return true
	}
	return false
}

// codeOf is what the store itself said.
func codeOf(err error) (code, message string) {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		code, message = api.ErrorCode(), api.ErrorCode()
		if api.ErrorMessage() != "" {
			message += ": " + api.ErrorMessage()
		}
	}
	if reply, ok := errors.AsType[*awshttp.ResponseError](err); ok && code == "" {
		message = fmt.Sprintf("status %d %s", reply.HTTPStatusCode(), http.StatusText(reply.HTTPStatusCode()))
	}
	return code, message
}
