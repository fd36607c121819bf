package bucket

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	"gocloud.dev/blob"

	"graphmill/pipeline/corpus"
)

// objects are a bucket's. gocloud.dev escapes some keys on the way; those of a bucket
// that others filled are taken as they are.
type objects struct{ bucket *blob.Bucket }

// Page implements corpus.Objects.
func (o *objects) Page(ctx context.Context, prefix, token string, most int) (page []corpus.Object, next string, err error) {
	pageToken := blob.FirstPageToken
	if token != "" {
		pageToken = []byte(token)
	}
	listed, nextToken, err := o.bucket.ListPage(ctx, pageToken, most, &blob.ListOptions{
		Prefix: prefix,
		BeforeList: func(as func(any) bool) error {
			var in *s3.ListObjectsV2Input
			if as(&in) {
				in.Prefix = aws.String(prefix)
				in.EncodingType = types.EncodingTypeUrl // XML has no place for some characters
			}
			return nil
		},
	})
	if err != nil {
		return nil, "", listError(err)
	}
	for _, l := range listed {
		object := corpus.Object{Key: l.Key, Size: l.Size, ModTime: l.ModTime}
		var raw types.Object
		if l.As(&raw) {
			object.Key, object.Version = aws.ToString(raw.Key), aws.ToString(raw.ETag)
		}
		page = append(page, object)
	}
	return page, string(nextToken), nil
}

// Open implements corpus.Objects.
func (o *objects) Open(ctx context.Context, object corpus.Object, offset, length int64) (corpus.Content, error) {
	r, err := o.bucket.NewRangeReader(ctx, object.Key, offset, length, &blob.ReaderOptions{
		BeforeRead: func(as func(any) bool) error {
			var in *s3.GetObjectInput
			if as(&in) {
				in.Key = aws.String(object.Key)
				if object.Version != "" {
					in.IfMatch = aws.String(object.Version)
				}
			}
			return nil
		},
	})
	if err != nil {
		return corpus.Content{}, readError(err)
	}
	var got s3.GetObjectOutput
	if r.As(&got) && object.Version != "" && got.ETag != nil && *got.ETag != object.Version {
		r.Close() // a store that does not know If-Match
		return corpus.Content{}, corpus.ErrChanged
	}
	return corpus.Content{ReadCloser: io.ReadCloser(r), Size: r.Size(), ModTime: r.ModTime()}, nil
}

// Close implements corpus.Objects.
func (o *objects) Close() error { return o.bucket.Close() }

// decodeKeys has listings give keys as they are where the store encoded them.
func decodeKeys(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("GraphmillDecodeKeys",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			if listed, ok := out.Result.(*s3.ListObjectsV2Output); ok && err == nil && listed.EncodingType == types.EncodingTypeUrl {
				err = decode(listed.Contents)
			}
			return out, metadata, err
		}), middleware.Before)
}

func decode(listed []types.Object) error {
	for i := range listed {
		key, err := url.QueryUnescape(aws.ToString(listed[i].Key))
		if err != nil {
			return errors.New("the store sent a key that is not URL-encoded, as it said it were")
		}
		listed[i].Key = aws.String(key)
	}
	return nil
}

// quiet is the last cause of an error of the SDK's, which has a line of ids.
func quiet(err error) string {
	text := err.Error()
	if at := strings.LastIndex(text, "https response error"); at >= 0 {
		text = text[at:]
	}
	return text
}
